// Moves the focus after a change: to the heading of a new page, and back if the element that had it was
// disabled or removed.

import { useEffect } from 'preact/hooks';

let shownPath: string | undefined;

/** Focuses the heading when the reader arrives from another page of the console. */
export function useArrival(path: string): void {
  useEffect(() => {
    if (shownPath !== undefined && shownPath !== path) focusHeading();
    shownPath = path;
  }, [path]);
}

function focusHeading(): void {
  document.querySelector('h1')?.focus({ preventScroll: true });
}

/**
 * Gives the focus back to an element that was disabled for a while, and to the heading if the element was
 * removed. Does nothing after a press of the pointer elsewhere.
 */
export function useKeptFocus(): void {
  useEffect(() => {
    let last: HTMLElement | undefined;
    const note = ({ target }: FocusEvent) => {
      last = target instanceof HTMLElement ? target : undefined;
    };
    const forget = () => {
      last = undefined;
    };
    const keep = () => {
      if (last === undefined || document.activeElement !== document.body) return;
      if (!last.isConnected) {
        last = undefined;
        focusHeading();
      } else if (!last.matches(':disabled')) last.focus();
    };
    const observer = new MutationObserver(keep);
    const watched = { subtree: true, childList: true, attributes: true };
    observer.observe(document.body, { ...watched, attributeFilter: ['disabled', 'open'] });
    document.addEventListener('focusin', note);
    document.addEventListener('pointerdown', forget);
    return () => {
      observer.disconnect();
      document.removeEventListener('focusin', note);
      document.removeEventListener('pointerdown', forget);
    };
  }, []);
}
