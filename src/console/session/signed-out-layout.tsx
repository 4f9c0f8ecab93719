// Layout of the pages without a session: signing in, first set-up, accepting an invitation.

import type { ComponentChildren } from 'preact';
import { Logo, useTitle } from '../part/page-head.tsx';

/** Layout with a heading, a sentence and a form. */
export function SignedOutLayout(props: {
  title: string;
  lead: ComponentChildren;
  children: ComponentChildren;
}) {
  useTitle(props.title);
  return (
    <main class="door">
      <div class="door-card">
        <Logo />
        <h1>{props.title}</h1>
        <p class="lead">{props.lead}</p>
        {props.children}
      </div>
    </main>
  );
}
