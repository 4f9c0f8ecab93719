// Kinds of texts that many devices send by mistake as their id, as they are counted and told.

/** Kinds of mistaken ids, each with what clients send. */
export const MISTAKEN_ID_WORDS = {
  undefined: '"undefined"',
  null: '"null"',
  nil: '"nil"',
  none: '"none"',
  nan: '"NaN"',
  true: '"true"',
  false: '"false"',
  unknown: '"unknown"',
  object: 'an object as text, such as "[object Object]"',
  template: 'a template that was not filled in, such as "{{device}}"',
  zeros: 'an id of zeros, such as the zero UUID',
  ones: 'the UUID of nothing but f',
  factory: 'an id that a maker gives to all machines',
} as const;

export type MistakenId = keyof typeof MISTAKEN_ID_WORDS;

export const MISTAKEN_IDS = Object.keys(MISTAKEN_ID_WORDS) as readonly MistakenId[];
