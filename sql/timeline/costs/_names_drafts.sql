-- Whether an annotation's name alone says that an engine drafts in it (SGLang).
CREATE MACRO _names_drafts(name) AS name IN ('draft', 'draft_extend');
