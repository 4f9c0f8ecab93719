// One audited change: who, what, when, and which values it changed.

import type { AuditEntry } from '../../contract/resource.ts';
import { auditDifference, type Difference } from '../format/audit-difference.ts';
import { Name } from './name.tsx';
import { Time } from './time.tsx';

/** `hasSubject` is false where the page is about one subject anyway. */
export function AuditEntryView(props: { entry: AuditEntry; hasSubject?: boolean }) {
  const { entry, hasSubject = true } = props;
  const differences = auditDifference(entry.before, entry.after);
  return (
    <li class="audit-entry">
      <div class="audit-head">
        <strong class="audit-action">{entry.action}</strong>
        {hasSubject && <Name text={entry.subject} isCode />}
        <span class="audit-by">
          <Name text={entry.actor} /> · <Time at={entry.at} />
        </span>
      </div>
      {differences.length > 0 && (
        <dl class="differences">
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
