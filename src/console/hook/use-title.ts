// Window title of a page, by which tabs and bookmarks can be told apart.

import { useEffect } from 'preact/hooks';

/** Sets the title: `1.2.0 · stable · Notes · Sluice`, from its first parts. */
export function useTitle(...parts: readonly (string | undefined)[]): void {
  const title = [...parts.filter((part) => part !== undefined), 'Sluice'].join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
}
