// Rows of alike things. On a narrow screen each row becomes a block whose values keep their labels.

import type { ComponentChildren } from 'preact';

export type Column<Row> = {
  readonly label: string;
  readonly render: (row: Row) => ComponentChildren;
  readonly isNumber?: boolean;
  /** For a column of buttons: it has a label for those who do not see it, only. */
  readonly isAction?: boolean;
};

/** `caption` names the table for who does not see where it stands. */
export function DataTable<Row>(props: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
}) {
  const { caption, columns, rows, keyOf } = props;
  return (
    <table class="table">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ label, isNumber, isAction }) => (
            <th key={label} scope="col" class={isNumber ? 'number' : ''}>
              <span class={isAction ? 'unseen' : ''}>{label}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ label, render, isNumber, isAction }) => (
              <td key={label} class={cellClass(isNumber, isAction)} data-label={label}>
                {render(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function cellClass(isNumber = false, isAction = false): string {
  if (isAction) return 'action';
  return isNumber ? 'number' : '';
}
