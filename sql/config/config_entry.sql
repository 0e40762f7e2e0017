-- Name and value of a property in a config.json, under the first of its names that is present and
-- not null; a text_config, of the language part, takes precedence over the rest. NULL: none is.
CREATE MACRO config_entry(config, names) AS
list_filter(
    list_transform(
        list_concat(
            list_transform(names, lambda n: {'name': n, 'path': '$.text_config."' || n || '"'}),
            list_transform(names, lambda n: {'name': n, 'path': '$."' || n || '"'})
        ),
        lambda n: {'name': n.name, 'value': json_extract(config, n.path)}
    ),
    lambda found: found.value IS NOT NULL AND json_type(found.value) <> 'NULL'
)[1];
