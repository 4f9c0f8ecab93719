// How a release spreads, beside the one before it at the same age.

import { useCallback, useMemo } from 'preact/hooks';
import type { ReleaseAdoption } from '../../contract/release-trouble.ts';
import { type AgeRow, ageRows, ageSeries } from '../format/adoption-series.ts';
import { numberText, shareText } from '../format/figure-text.ts';
import { Card } from '../part/card.tsx';
import { type Column, DataTable } from '../part/data-table.tsx';
import { Plot } from '../part/plot.tsx';

/** Card with both curves, and their figures as a table. */
export function AgeCard({ adoption }: { adoption: ReleaseAdoption }) {
  const { release, before } = adoption;
  const hasBefore = before !== null && before.ages.length > 0;
  if (release.ages.length === 0 && !hasBefore) return null;
  return (
    <Card title="Adoption at the same age">
      <AgeChart adoption={adoption} />
      <p class="legend-line">
        <span class="line-sample" aria-hidden="true" /> <span class="code">{release.version}</span>
        {hasBefore && (
          <>
            {' '}
            <span class="line-sample dashed" aria-hidden="true" />{' '}
            <span class="code">{before.version}</span>
          </>
        )}
      </p>
      <DataTable
        caption="Devices on each release at the same age"
        rows={ageRows(adoption)}
        keyOf={({ label }) => label}
        columns={columnsOf(adoption)}
      />
      <p class="hint">
        {before === null && 'No release was published on the channel before it. '}
        {before !== null &&
          !hasBefore &&
          `No installation of ${before.version} is on record: it is too old. `}
        Devices count as for the health; shares are those of the {numberText(adoption.fleet)}{' '}
        devices that the channel has now.
      </p>
    </Card>
  );
}

function AgeChart({ adoption }: { adoption: ReleaseAdoption }) {
  const series = useMemo(() => ageSeries(adoption), [adoption]);
  const load = useCallback(async () => {
    const { agePlot } = await import('../part/chart.ts');
    return (place: HTMLElement) => agePlot(place, series);
  }, [series]);
  return (
    <Plot
      label="Share of devices on it and on the release before, by age; the table below has the numbers"
      load={load}
      isLow
    />
  );
}

function columnsOf({ release, before, fleet }: ReleaseAdoption): readonly Column<AgeRow>[] {
  const figure = (devices: number | null) =>
    devices === null ? (
      <span class="muted">no data</span>
    ) : (
      `${numberText(devices)} · ${shareText(devices, fleet)}`
    );
  return [
    { label: 'Age', render: ({ label }) => label },
    { label: release.version, isNumber: true, render: (row) => figure(row.release) },
    ...(before === null
      ? []
      : [{ label: before.version, isNumber: true, render: (row: AgeRow) => figure(row.before) }]),
  ];
}
