// What closes the dialog around a form.

import { createContext } from 'preact';

/** Closes the dialog around a form, once the reader has confirmed to lose what was entered. */
export const DismissContext = createContext<(() => void) | undefined>(undefined);
