// Tile with one number and its label.

import type { ComponentChildren } from 'preact';

/** Tile with a number; `note` puts it in relation. */
export function FigureTile(props: {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
}) {
  return (
    <div class="figure">
      <dt>{props.label}</dt>
      <dd>
        <span class="figure-value">{props.value}</span>
        {props.note !== undefined && <span class="figure-note">{props.note}</span>}
      </dd>
    </div>
  );
}
