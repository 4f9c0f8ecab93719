// Layout of the pages without a session, also of those that a link opens.

import type { ComponentChildren } from 'preact';
import { Notice } from '../form/notice.tsx';
import { consolePath } from '../format/console-path.ts';
import type { Loaded } from '../hook/use-load.ts';
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

/** Content of a link's page once its offer is loaded, or a notice that the link cannot be used. */
export function OpenedLink<Value>(props: {
  of: Loaded<Value>;
  title: string;
  lead?: string;
  /** Sentence for a link that the service does not know. */
  gone?: string;
  children: (value: Value) => ComponentChildren;
}) {
  const { of, title, lead = 'This link cannot be used.', gone, children } = props;
  const { data, error } = of;
  if (error === undefined) return data === undefined ? null : children(data);
  return (
    <SignedOutLayout title={title} lead={lead}>
      <Notice tone="bad">{(error.status === 404 ? gone : undefined) ?? error.advice}</Notice>
      <a class="button plain" href={consolePath.apps}>
        Go to the console
      </a>
    </SignedOutLayout>
  );
}
