"""Names of kernels and the categories that they have by name alone."""

from tracelake.engine.sql.modules import quoted
from tracelake.lake import Lake


def check_categories(lake: Lake, names: str) -> None:
    """Check the category of each name, in lines of `category | name`."""
    expected = {
        name.strip(): category.strip() for category, name in (line.split(" | ") for line in names.strip().splitlines())
    }
    found = lake.sql(
        f"""
        SELECT name, coalesce(category, 'other')
        FROM (SELECT unnest([{", ".join(map(quoted, expected))}]) AS name)
        LEFT JOIN category_rules ON priority = _category_rule(lower(name), NULL)
        """
    ).fetchall()
    assert dict(found) == expected
