// Dash in the place of a value that there is not; a list on a narrow screen leaves its cell out.

export function None() {
  return <span class="muted none">–</span>;
}
