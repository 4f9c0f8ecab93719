// What a process of the service and the one that started it tell each other.

import type { ProcessFigures } from '../observe/sum-figures.ts';

/** To a process from the one that started it. */
export type MessageToChild =
  /** Take no new connections any more, and say so. */
  | { readonly kind: 'close'; readonly id: number }
  /** Finish what is in flight, and end. */
  | { readonly kind: 'stop' }
  /** Tell your own figures. */
  | { readonly kind: 'figures'; readonly id: number }
  /** The figures of all processes together, as text; undefined when they could not be added up. */
  | { readonly kind: 'sum'; readonly id: number; readonly text: string | undefined };

/** From a process to the one that started it. */
export type MessageToParent =
  /** It does its work from now on. */
  | { readonly kind: 'ready' }
  /** It cannot start, and ends; the reason is one line. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'closed'; readonly id: number }
  | { readonly kind: 'figures'; readonly id: number; readonly figures: ProcessFigures }
  /** Tell me the figures of all processes together. */
  | { readonly kind: 'sum'; readonly id: number };
