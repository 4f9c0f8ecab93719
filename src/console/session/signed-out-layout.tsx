// Layout of the pages without a session, and the hint for new passwords.

import type { ComponentChildren } from 'preact';
import { LIMIT } from '../../contract/limit.ts';
import { Notice } from '../form/notice.tsx';
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
      <div class="door-card stack loose">
        <Logo />
        <h1>{props.title}</h1>
        <p class="lead">{props.lead}</p>
        {!navigator.cookieEnabled && (
          <Notice tone="bad">
            This browser keeps no cookies of this page, which signing in needs: allow them, then
            reload.
          </Notice>
        )}
        {props.children}
      </div>
    </main>
  );
}

/** Hint with the minimum length of passwords. */
export const PASSWORD_HINT = [
  `At least ${LIMIT.passwordLengthMin} characters;`,
  'a few words that only you would put together are best.',
].join(' ');
