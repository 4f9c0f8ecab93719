// Notice for the whole page that the service cannot be reached.

import { useEffect, useState } from 'preact/hooks';
import { connection } from '../api/call.ts';
import { Notice } from './notice.tsx';

/** Notice while an outage lasts; `onRetry` asks the service anything. */
export function ConnectionNotice({ onRetry }: { onRetry: () => void }) {
  const [outage, setOutage] = useState(connection.outage);
  useEffect(() => connection.onChange(() => setOutage(connection.outage())), []);
  if (outage === undefined) return null;
  return (
    <Notice tone="bad">
      {outage}{' '}
      <button type="button" class="link" onClick={onRetry}>
        Try again
      </button>
    </Notice>
  );
}
