// One audit entry: its sentence, actor and time, and the values that the sentence leaves out.

import type { AuditEntry } from '../../contract/resource.ts';
import { auditDifference, type Difference, fieldText } from '../format/audit-log.ts';
import { auditLink, auditSentence } from '../format/audit-sentence.ts';
import { Actor, Name } from './name.tsx';
import { Time } from './time.tsx';

/** Audit entry; `hasSubject` is false on the page of the subject. */
export function AuditEntryView(props: { entry: AuditEntry; hasSubject?: boolean }) {
  const { entry, hasSubject = true } = props;
  const { text, isWhole } = auditSentence(entry);
  const link = auditLink(entry);
  const differences = isWhole ? [] : auditDifference(entry.before, entry.after);
  // New or removed objects have nothing to compare: their values fit in one line.
  const isBrief = !differences.some(
    ({ before, after }) => before !== undefined && after !== undefined,
  );
  return (
    <li class="audit-entry">
      <div class="audit-head">
        <strong class="audit-action" title={entry.action}>
          {text}
        </strong>
        {hasSubject &&
          (link === undefined ? (
            <Name text={entry.subject} isCode />
          ) : (
            <a href={link}>
              <Name text={entry.subject} isCode />
            </a>
          ))}
        <span
          class="audit-by"
          title={entry.requestId === null ? undefined : `Request ${entry.requestId}`}
        >
          <Actor text={entry.actor} /> · <Time at={entry.at} isZoned />
        </span>
      </div>
      {entry.reason !== null && (
        <p class="audit-reason" dir="auto">
          {entry.reason}
        </p>
      )}
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
      <dt dir="auto">{fieldText(path)}</dt>
      <dd>
        {before !== undefined && <del dir="auto">{before}</del>}
        {before !== undefined && after !== undefined && <span aria-hidden="true">→</span>}
        {after !== undefined && <ins dir="auto">{after}</ins>}
      </dd>
    </div>
  );
}
