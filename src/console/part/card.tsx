// A part of a page with a heading of its own.

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

/** `aside` stands beside the heading: a button, a number. */
export function Card(props: {
  title: string;
  aside?: ComponentChildren;
  isFlush?: boolean;
  children: ComponentChildren;
}) {
  const { title, aside, isFlush = false, children } = props;
  const id = useId();
  return (
    <section class={isFlush ? 'card flush' : 'card'} aria-labelledby={id}>
      <header class="card-head">
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}
