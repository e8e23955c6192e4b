SELECT who, words FROM searches WHERE who IN (SELECT who FROM clicks WHERE ms IS NOT NULL)
