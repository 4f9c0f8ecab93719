// Heading of a page with its actions.

import type { ComponentChildren } from 'preact';

/** Heading; `lead` describes the page in one line. */
export function PageHead(props: {
  title: ComponentChildren;
  lead?: ComponentChildren;
  actions?: ComponentChildren;
}) {
  return (
    <header class="page-head">
      <div>
        <h1>{props.title}</h1>
        {props.lead !== undefined && <p class="lead">{props.lead}</p>}
      </div>
      {props.actions !== undefined && <div class="page-actions">{props.actions}</div>}
    </header>
  );
}
