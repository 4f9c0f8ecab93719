// Shows what somebody else has changed while the page is open: who did what, and when.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { AuditEntry } from '../../contract/resource.ts';
import { auditSentence } from '../../words/audit-sentence.ts';
import { actorWords } from '../../words/name.ts';
import { announce } from '../form/announcer.tsx';
import { Notice } from '../form/notice.tsx';
import { Actor } from '../part/name.tsx';
import { Time } from '../part/time.tsx';
import { useSession } from '../session/use-session.ts';

/** Notice for the newest entry of a history, if somebody else has added it since the page opened. */
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
