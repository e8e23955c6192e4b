SELECT day, bool_and(flag) AS all_set, bool_or(flag) AS some_set, count_if(flag) AS set, count_if(NOT flag) AS unset FROM orders GROUP BY day
