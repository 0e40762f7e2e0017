-- One row per category rule of the reference analyser, for the relations that show its figures.
--
-- profile    VARCHAR  profile of the rule; any for the rules tried last in all profiles
-- place      INTEGER  order within the profile, from 1; the first match applies
-- category   VARCHAR  category given
-- needle     VARCHAR  text that the kernel name contains
-- fold_case  BOOLEAN  the name is lower-cased first
CREATE TABLE compat_rules (
    profile VARCHAR NOT NULL,
    place INTEGER NOT NULL,
    category VARCHAR NOT NULL,
    needle VARCHAR NOT NULL,
    fold_case BOOLEAN NOT NULL,
    PRIMARY KEY (profile, place)
);
