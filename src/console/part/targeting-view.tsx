// Targeting of a release in words.

import type { Targeting } from '../../contract/resource.ts';
import { targetingText } from '../format/targeting.ts';

/** List with one chip per condition, all of which must hold. */
export function TargetingView({ targets }: { targets: Targeting | null }) {
  const clauses = targetingText(targets);
  if (clauses.length === 0) return <span class="muted">Every device</span>;
  return (
    <ul class="clauses" aria-label="Devices whose">
      {clauses.map((clause) => (
        <li key={clause} dir="auto">
          {clause}
        </li>
      ))}
    </ul>
  );
}
