// The frame of the pages that come before the console: signing in, setting up, accepting an invitation.

import type { ComponentChildren } from 'preact';
import { useTitle } from '../hook/use-title.ts';
import { Logo } from '../part/logo.tsx';

/** A heading, a sentence, and the form. */
export function Door(props: {
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
