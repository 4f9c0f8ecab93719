// Link to the place of the help where a term is explained.

import type { ComponentChildren } from 'preact';
import { consolePath } from '../format/console-path.ts';

/** Link to a part of the help, by its id; in a tab of its own, so that nothing filled in is lost. */
export function HelpLink({ to, children }: { to: string; children: ComponentChildren }) {
  return (
    <a class="small" href={`${consolePath.help}#${to}`} target="_blank" rel="noopener">
      {children}
    </a>
  );
}
