// Artifacts of a release by platform.

import type { Artifact } from '../../contract/resource.ts';
import { artifactFormat } from '../../domain/decision/artifact-format.ts';
import { bytesText } from '../format/figure-text.ts';
import { Card } from '../part/card.tsx';
import { type Column, DataTable } from '../part/data-table.tsx';
import { Name } from '../part/name.tsx';

const WEB_ADDRESS = /^https?:\/\//i;

const COLUMNS: readonly Column<Artifact>[] = [
  { label: 'Platform', render: ({ platform }) => <Name text={platform} /> },
  {
    label: 'Architecture',
    render: ({ arch }) =>
      arch === undefined ? <span class="muted">any</span> : <Name text={arch} />,
  },
  {
    label: 'Format',
    render: (artifact) => {
      const format = artifactFormat(artifact);
      return format === undefined ? <span class="muted">–</span> : <Name text={format} />;
    },
  },
  {
    label: 'Size',
    isNumber: true,
    render: ({ size }) => (size === undefined ? <span class="muted">–</span> : bytesText(size)),
  },
  {
    label: 'Signed',
    render: ({ signature }) =>
      signature === undefined ? <span class="muted">no</span> : <span title={signature}>yes</span>,
  },
  { label: 'Address', render: ({ url }) => <Address url={url} /> },
];

/** Card with a row per artifact; its URL is a link. */
export function ArtifactCard({ artifacts }: { artifacts: readonly Artifact[] }) {
  return (
    <Card title="Artifacts" isFlush>
      {artifacts.length === 0 ? (
        <p class="hint padded">
          No artifacts: no device can install this release by itself. Fleet decisions still plan it.
        </p>
      ) : (
        <DataTable
          caption="Artifacts"
          columns={COLUMNS}
          rows={artifacts}
          keyOf={({ platform, arch, url }) => `${platform}/${arch}/${url}`}
        />
      )}
    </Card>
  );
}

/** Link for an http(s) URL; any other value is displayed as text. */
function Address({ url }: { url: string | undefined }) {
  if (url === undefined) return <span class="muted">–</span>;
  if (!WEB_ADDRESS.test(url)) return <Name text={url} isCode />;
  return (
    <a class="code address" href={url} target="_blank" rel="noopener noreferrer" title={url}>
      {url.split('/').at(-1) || url}
    </a>
  );
}
