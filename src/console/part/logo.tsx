// Logo with the product's name.

/** Logo; the image is decorative, because the name is text. */
export function Logo() {
  return (
    <span class="logo">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <path d="M8 9h16M8 16h11M8 23h6" />
      </svg>
      Sluice
    </span>
  );
}
