// Revision of labels by which news tell that a device was deleted.

/** Revision in the news of a deleted device: above every revision that labels can have. */
export const DELETED_REVISION = 2 ** 31 - 1;
