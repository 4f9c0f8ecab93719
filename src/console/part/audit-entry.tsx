// One audited change: who, what, when, and which values it changed.

import type { AuditEntry } from '../../contract/resource.ts';
import { actionText } from '../format/action-text.ts';
import { auditDifference, type Difference } from '../format/audit-difference.ts';
import { Actor } from './actor.tsx';
import { Name } from './name.tsx';
import { Time } from './time.tsx';

/** `hasSubject` is false where the page is about one subject anyway. */
export function AuditEntryView(props: { entry: AuditEntry; hasSubject?: boolean }) {
  const { entry, hasSubject = true } = props;
  const differences = auditDifference(entry.before, entry.after);
  // Of something new, or gone, there is nothing to compare: its values are told in a line.
  const isBrief = !differences.some(
    ({ before, after }) => before !== undefined && after !== undefined,
  );
  return (
    <li class="audit-entry">
      <div class="audit-head">
        <strong class="audit-action" title={entry.action}>
          {actionText(entry.action)}
        </strong>
        {hasSubject && <Name text={entry.subject} isCode />}
        <span class="audit-by">
          <Actor text={entry.actor} /> · <Time at={entry.at} />
        </span>
      </div>
      {differences.length > 0 && (
        <dl class={isBrief ? 'differences brief' : 'differences'}>
          {differences.map((difference) => (
            <DifferenceRow key={difference.path} difference={difference} />
          ))}
        </dl>
      )}
    </li>
  );
}

function DifferenceRow({ difference: { path, before, after } }: { difference: Difference }) {
  return (
    <div>
      <dt dir="auto">{path === '' ? 'value' : path}</dt>
      <dd>
        {before !== undefined && <del dir="auto">{before}</del>}
        {before !== undefined && after !== undefined && <span aria-hidden="true">→</span>}
        {after !== undefined && <ins dir="auto">{after}</ins>}
      </dd>
    </div>
  );
}
