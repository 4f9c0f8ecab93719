// Layout of pages: cards, tiles with a number, bars, placeholders for empty lists, and links to the help.

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { consolePath } from '../format/console-path.ts';
import { percentText } from '../format/figure-text.ts';

/** Card with a heading; `aside` is shown beside the heading. */
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
      <header class="card-head row apart">
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

/** Tile with a number; `note` explains it. */
export function FigureTile(props: {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
}) {
  return (
    <div class="figure">
      <dt>{props.label}</dt>
      <dd>
        <span class="figure-value digits">{props.value}</span>
        {props.note !== undefined && <span class="figure-note muted">{props.note}</span>}
      </dd>
    </div>
  );
}

/** Bar for a percentage from 0 to 100; `label` names it for screen readers. */
export function ShareBar(props: {
  percent: number;
  label: string;
  text?: string;
  tone?: 'accent' | 'quiet';
}) {
  const { percent, label, text = percentText(percent), tone = 'accent' } = props;
  const width = `${Math.min(100, Math.max(0, percent))}%`;
  return (
    <span class="share line">
      <span class={`share-track ${tone}`} role="img" aria-label={`${label}: ${text}`}>
        <span style={{ width }} />
      </span>
      <span
        class={
          props.text === undefined ? 'share-text digits small' : 'share-text wide digits small'
        }
        aria-hidden="true"
      >
        {text}
      </span>
    </span>
  );
}

/** Placeholder of an empty list; `children` explain it, `action` and `link` offer the next step. */
export function Empty(props: {
  title: string;
  action?: ComponentChildren;
  link?: { readonly href: string; readonly text: string };
  children?: ComponentChildren;
}) {
  const { title, action, link, children } = props;
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <p class="hint">{children}</p>}
      {action}
      {link !== undefined && (
        <a class="button plain" href={link.href}>
          {link.text}
        </a>
      )}
    </div>
  );
}

/** Link to a part of the help by its id; opens in a new tab, so that no input is lost. */
export function HelpLink({ to, children }: { to: string; children: ComponentChildren }) {
  return (
    <a class="small" href={`${consolePath.help}#${to}`} target="_blank" rel="noopener">
      {children}
    </a>
  );
}
