SELECT c.who, p.section, p.owner FROM clicks c JOIN pages p ON regexp_extract(c.url, '^https?://[^/]+([^?#]*)', 1) = p.path
