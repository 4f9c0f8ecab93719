// Entry point of the console in the browser.

import { render } from 'preact';
import { App } from './app.tsx';
import { consolePath, isReadablePath } from './format/console-path.ts';
import { guardHistory } from './hook/unsaved.ts';
import './style/main.css';

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root');
if (!isReadablePath(location.pathname)) history.replaceState(null, '', consolePath.apps);
guardHistory();
render(<App />, root);
