SELECT id, props['stars'] AS stars, coalesce(props['views'], 0) AS views, list_sort(map_keys(props)) AS names FROM lines
