// The name of the page, in the window's title: tabs and bookmarks are told apart by it.

import { useEffect } from 'preact/hooks';

/** `1.2.0 · stable · Notes · Sluice`, from the parts that stand first. */
export function useTitle(...parts: readonly (string | undefined)[]): void {
  const title = [...parts.filter((part) => part !== undefined), 'Sluice'].join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
}
