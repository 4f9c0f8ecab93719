// Page of the OpenAPI document, shown by Swagger UI. It makes no API calls, because a key should not be
// entered in a page. Its addresses are relative to `/docs`, because a public address may have a path.

import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js';
import 'swagger-ui-dist/swagger-ui.css';
import '../style/ground.css';
import './reference.css';

const DARK = window.matchMedia('(prefers-color-scheme: dark)');

function followScheme(): void {
  document.documentElement.classList.toggle('dark-mode', DARK.matches);
}

followScheme();
DARK.addEventListener('change', followScheme);
SwaggerUI({
  url: 'api/v1/openapi.json',
  dom_id: '#reference',
  supportedSubmitMethods: [],
  validatorUrl: null,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: 'list',
  displayOperationId: true,
});
