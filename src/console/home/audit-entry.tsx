// One audit entry: its sentence, actor and time, and the values that the sentence leaves out; and the notice
// of what another person has changed while a page was open.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { AuditEntry } from '../../contract/resource.ts';
import { auditSentence, auditSubject, isAboutActor } from '../../words/audit-sentence.ts';
import { actorWords } from '../../words/name.ts';
import { announce } from '../form/announcer.tsx';
import { Notice } from '../form/notice.tsx';
import { auditDifference, auditLink, type Difference, fieldText } from '../format/audit-log.ts';
import { Actor, Name } from '../part/name.tsx';
import { Time } from '../part/time.tsx';
import { useSession } from '../session/use-session.ts';

/** Audit entry as a sentence: actor, action, subject. `hasSubject` is false on the page of the subject. */
export function AuditEntryView(props: { entry: AuditEntry; hasSubject?: boolean }) {
  const { entry } = props;
  const hasSubject = (props.hasSubject ?? true) && !isAboutActor(entry);
  const { text, around, why, isWhole } = auditSentence(entry);
  const [head, tail] = hasSubject ? around : [text, ''];
  const reason = entry.reason ?? why;
  const differences = isWhole ? [] : auditDifference(entry.before, entry.after);
  // New or removed objects have nothing to compare: their values fit in one line.
  const isBrief = !differences.some(
    ({ before, after }) => before !== undefined && after !== undefined,
  );
  return (
    <li class="audit-entry">
      <div class="audit-head row apart">
        <p>
          <strong>
            <Actor text={entry.actor} isFirst />
          </strong>{' '}
          <span class="audit-action" title={entry.action}>
            {`${head.charAt(0).toLowerCase()}${head.slice(1)}`}
            {hasSubject && <Subject entry={entry} />}
            {tail}
          </span>
        </p>
        <span
          class="hint"
          title={entry.requestId === null ? undefined : `Request ${entry.requestId}`}
        >
          <Time at={entry.at} isZoned />
        </span>
      </div>
      {reason !== null && <Reason text={reason} />}
      {differences.length > 0 && (
        <dl
          class={isBrief ? 'differences brief stack panel small' : 'differences stack panel small'}
        >
          {differences.map((difference) => (
            <DifferenceRow key={difference.path} difference={difference} />
          ))}
        </dl>
      )}
    </li>
  );
}

function Subject({ entry }: { entry: AuditEntry }) {
  const link = auditLink(entry);
  const name = (
    <span title={entry.subject}>
      <Name text={auditSubject(entry)} isCode />
    </span>
  );
  return link === undefined ? name : <a href={link}>{name}</a>;
}

/** Maximum length of a reason that is shown as a whole; the reader can expand a longer one. */
const REASON_LENGTH_MAX = 140;

function Reason({ text }: { text: string }) {
  if (text.length <= REASON_LENGTH_MAX) {
    return (
      <p class="muted" dir="auto">
        {text}
      </p>
    );
  }
  return (
    <details class="muted">
      <summary dir="auto">{text.slice(0, REASON_LENGTH_MAX)}…</summary>
      <p dir="auto">{text}</p>
    </details>
  );
}

function DifferenceRow({ difference: { path, before, after } }: { difference: Difference }) {
  return (
    <div>
      <dt dir="auto">{fieldText(path)}</dt>
      <dd class="row">
        {before !== undefined && <del dir="auto">{before}</del>}
        {before !== undefined && after !== undefined && <span aria-hidden="true">→</span>}
        {after !== undefined && <ins dir="auto">{after}</ins>}
      </dd>
    </div>
  );
}

/** Notice for the newest entry of a history, if another person has added it since the page opened. */
export function OthersChange({ history }: { history: readonly AuditEntry[] }) {
  const { email } = useSession().account;
  const seen = useRef(history[0]?.id);
  const [change, setChange] = useState<AuditEntry>();
  const [newest] = history;
  useEffect(() => {
    if (newest === undefined || newest.id === seen.current) return;
    seen.current = newest.id;
    if (newest.actor === `account:${email}`) return setChange(undefined);
    setChange(newest);
    announce(`${actorWords(newest.actor)}: ${auditSentence(newest).text}`);
  }, [newest, email]);
  if (change === undefined) return null;
  return (
    <Notice tone="quiet">
      <strong>
        <Actor text={change.actor} isFirst />
      </strong>
      : {auditSentence(change).text} · <Time at={change.at} />{' '}
      <button type="button" class="link" onClick={() => setChange(undefined)}>
        Hide
      </button>
    </Notice>
  );
}
