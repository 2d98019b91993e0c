// Authorization of a client on a TypeScript SDK without a browser (docs/clients.md): the authorization endpoint redirects at once.
import { context, setup } from './contract.mjs';

const redirectUrl = 'http://127.0.0.1:8765/callback';
const metadata = { client_name: 'adapter', redirect_uris: [redirectUrl], response_types: ['code'] };
/** How often an action is repeated after an authorization. */
const REPETITIONS = 3;

/** An `OAuthClientProvider` for the authorization code. */
class CodeProvider {
  redirectUrl = redirectUrl;
  clientMetadataUrl = context.client_metadata_url;
  clientMetadata = { ...metadata, grant_types: ['authorization_code', 'refresh_token'] };
  #registered = context.client_id && { client_id: context.client_id, client_secret: context.client_secret };
  #tokens;
  #verifier;
  #response;

  clientInformation = () => this.#registered;
  saveClientInformation = (registered) => void (this.#registered = registered);
  tokens = () => this.#tokens;
  saveTokens = (tokens) => void (this.#tokens = tokens);
  codeVerifier = () => this.#verifier;
  saveCodeVerifier = (verifier) => void (this.#verifier = verifier);
  state = () => crypto.randomUUID();

  /** The SDK asks for it if the authorization server rejects what is stored. */
  invalidateCredentials(scope) {
    if (scope !== 'client') this.#tokens = undefined;
    if (scope === 'all' || scope === 'client') this.#registered = undefined;
  }

  /** The SDK may authorize for a call and for a stream at the same time, each with a verifier and a state of its own. */
  async redirectToAuthorization(url) {
    const verifier = this.#verifier;
    const { headers } = await fetch(url, { redirect: 'manual' });
    const location = headers.get('location');
    const parameters = location && new URL(location).searchParams;
    if (parameters?.get('state') !== url.searchParams.get('state')) throw new Error('the authorization response has another state');
    this.#response = { parameters, verifier };
  }

  /** The parameters of the authorization response that was not used yet. */
  take() {
    const response = this.#response;
    this.#response = undefined;
    this.#verifier = response?.verifier ?? this.#verifier;
    return response?.parameters;
  }
}

function providerFor({ ClientCredentialsProvider, PrivateKeyJwtProvider }) {
  const clientId = context.client_id;
  switch (setup.authorization) {
    case 'authorization-code':
      return new CodeProvider();
    case 'client-credentials':
      return context.private_key_pem
        ? new PrivateKeyJwtProvider({ clientId, privateKey: context.private_key_pem, algorithm: context.signing_algorithm })
        : new ClientCredentialsProvider({ clientId, clientSecret: context.client_secret });
    default:
      return undefined;
  }
}

/** The provider for the grant of the case, with the SDK's classes for client credentials, and a function that performs an
 * action again after each authorization that the server asks for. `transport` returns the transport in use. */
export function authorization(sdk) {
  const authProvider = providerFor(sdk);
  const authorized = async (transport, action) => {
    for (let repetitions = 0; ; repetitions += 1) {
      try {
        return await action();
      } catch (error) {
        const response = authProvider?.take?.();
        if (!response || repetitions === REPETITIONS) throw error;
        await transport().finishAuth(response.get('code'), response.get('iss') ?? undefined);
      }
    }
  };
  return { authProvider, authorized };
}
