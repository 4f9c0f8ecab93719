// Link to the explanation of a term on the help page.

import type { ComponentChildren } from 'preact';
import { consolePath } from '../format/console-path.ts';

/** Link to a part of the help by its id; opens in a new tab, so that no input is lost. */
export function HelpLink({ to, children }: { to: string; children: ComponentChildren }) {
  return (
    <a class="small" href={`${consolePath.help}#${to}`} target="_blank" rel="noopener">
      {children}
    </a>
  );
}
