// Hours as the reader's own clock shows them: texts are English, but not everybody has AM and PM.

const { hourCycle = 'h23' } = new Intl.DateTimeFormat(undefined, {
  hour: 'numeric',
}).resolvedOptions();

/** Options of every format that shows a time of day. */
export const READER_HOURS: Pick<Intl.DateTimeFormatOptions, 'hourCycle'> = { hourCycle };
