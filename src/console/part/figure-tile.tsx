// One number and what it counts.

import type { ComponentChildren } from 'preact';

/** `note` puts the number in relation. */
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
