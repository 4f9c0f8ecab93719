// Revisions of labels by which news tell something else than that labels are on record.

/** Revision in the news of a deleted device: above every revision that labels can have. */
export const DELETED_REVISION = 2 ** 31 - 1;

/** Revision in the news of labels that were noted and are not on record yet: above those on record. */
export const NOTED_REVISION = DELETED_REVISION - 1;
