// List of the console's keyboard shortcuts.

export const KEYS = (
  <dl class="keys">
    <dt>
      <kbd>/</kbd>
    </dt>
    <dd>Search apps, versions and devices</dd>
    <dt>
      <kbd>?</kbd>
    </dt>
    <dd>Show these keys</dd>
    <dt>
      <kbd>Esc</kbd>
    </dt>
    <dd>Close a dialog; it asks before input is lost</dd>
    <dt>
      <kbd>Enter</kbd>
    </dt>
    <dd>Send the form, or open the first that was found</dd>
    <dt>
      <kbd>Tab</kbd>
    </dt>
    <dd>Go on; the first press on a page offers to skip to its content</dd>
  </dl>
);
