// Section of a page with a heading.

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

/** Card with a heading; `aside`, such as a button or a number, is placed beside it. */
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
