// The heading of a page, and what can be done there.

import type { ComponentChildren } from 'preact';

/** `lead` says in a line what one sees. */
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
