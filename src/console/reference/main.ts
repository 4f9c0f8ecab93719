// Page of the OpenAPI document, shown by Swagger UI. It makes no API calls, because a key does not belong in
// a page. Its addresses are relative to `/docs`, which may stand below the path of a public address.

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
