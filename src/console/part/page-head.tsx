// Head of a page: window title, heading with actions, and the logo.

import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useArrival } from '../hook/focus.ts';

/** Heading; `lead` describes the page in one line. */
export function PageHead(props: {
  title: ComponentChildren;
  lead?: ComponentChildren;
  actions?: ComponentChildren;
}) {
  useArrival(useLocation().path);
  return (
    <header class="page-head row apart">
      <div>
        <h1 tabIndex={-1}>{props.title}</h1>
        {props.lead !== undefined && <p class="lead">{props.lead}</p>}
      </div>
      {props.actions !== undefined && <div class="page-actions row">{props.actions}</div>}
    </header>
  );
}

/** Sets the window title from its parts, the most specific first: `1.2.0 · stable · Notes · Sluice`. */
export function useTitle(...parts: readonly (string | undefined)[]): void {
  const title = [...parts.filter((part) => part !== undefined), 'Sluice'].join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
}

/** Logo; the image is decorative, because the name is text. */
export function Logo() {
  return (
    <span class="logo line">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <path d="M8 9h16M8 16h11M8 23h6" />
      </svg>
      Sluice
    </span>
  );
}
