import { getActivations } from "./activations-address.ts";
import { getActivity } from "./activity.ts";
import { deleteOffer, getOffer, putOffer } from "./agents-offer.ts";
import { getAsset } from "./assets-name.ts";
import { createSpeech } from "./audio-speech.ts";
import { createTranscription } from "./audio-transcriptions.ts";
import { signIn, signOut } from "./auth.ts";
import { getNonce } from "./auth-nonce.ts";
import { createChatCompletion } from "./chat-completions.ts";
import { getContracts } from "./contracts.ts";
import { getCredits } from "./credits.ts";
import { getDocs } from "./docs.ts";
import { getDocsPage } from "./docs-page.ts";
import { createEmbeddings } from "./embeddings.ts";
import type { Endpoint } from "./endpoint.ts";
import { getGeneration } from "./generation.ts";
import { getHealth } from "./healthz.ts";
import { editImage } from "./image-edit.ts";
import { generateImage } from "./image-generate.ts";
import { getImageStyles } from "./image-styles.ts";
import { upscaleImage } from "./image-upscale.ts";
import { createImageEdit } from "./images-edits.ts";
import { createImage } from "./images-generations.ts";
import { getOwnKey } from "./key.ts";
import { createKey, listKeys } from "./keys.ts";
import { changeKey, revokeKey } from "./keys-id.ts";
import { setKeyTerms } from "./keys-id-limit.ts";
import { rollKey } from "./keys-id-roll.ts";
import { getKeyMessage } from "./keys-message.ts";
import { getLlmsText } from "./llms.ts";
import { postMcp } from "./mcp.ts";
import { createMessage } from "./messages.ts";
import { countTokens } from "./messages-count-tokens.ts";
import { getMetrics } from "./metrics.ts";
import { listModels } from "./models.ts";
import { getModelCompatibility } from "./models-compatibility-mapping.ts";
import { getModel } from "./models-id.ts";
import { getModelTraits } from "./models-traits.ts";
import { getOpenApi } from "./openapi.ts";
import { getPrices } from "./prices-snapshot.ts";
import { quoteChat } from "./quote.ts";
import { listReconciliations } from "./reconciliations.ts";
import { getReconciliation } from "./reconciliations-day.ts";
import { createResponse } from "./responses.ts";
import { getRoot } from "./root.ts";
import { getSkill } from "./skill.ts";
import { getStatements } from "./statements.ts";
import { listStatementUses } from "./statements-uses.ts";
import { getStatus } from "./status.ts";
import { createTopUp, getTopUp, getTopUpQuotes } from "./top-up.ts";
import { getTopUpMessage } from "./top-up-message.ts";
import { createWebhook, listWebhooks } from "./webhooks.ts";
import { listDeliveries } from "./webhooks-deliveries.ts";
import { deleteWebhook } from "./webhooks-id.ts";
import { testWebhook } from "./webhooks-id-test.ts";

/** Every endpoint of the gateway, in the order in which they are documented. */
export const endpoints: readonly Endpoint[] = [
  createChatCompletion,
  createResponse,
  createMessage,
  countTokens,
  quoteChat,
  createEmbeddings,
  createImage,
  generateImage,
  createImageEdit,
  editImage,
  upscaleImage,
  createSpeech,
  createTranscription,
  listModels,
  getModelTraits,
  getModelCompatibility,
  getImageStyles,
  getModel,
  getCredits,
  getActivations,
  getGeneration,
  getActivity,
  getOwnKey,
  getKeyMessage,
  createKey,
  listKeys,
  changeKey,
  rollKey,
  setKeyTerms,
  revokeKey,
  getTopUpQuotes,
  getTopUpMessage,
  createTopUp,
  getTopUp,
  createWebhook,
  listWebhooks,
  testWebhook,
  deleteWebhook,
  listDeliveries,
  signIn,
  signOut,
  getNonce,
  getOffer,
  putOffer,
  deleteOffer,
  getStatements,
  listStatementUses,
  getPrices,
  listReconciliations,
  getReconciliation,
  getStatus,
  getContracts,
  getHealth,
  getMetrics,
  postMcp,
  getRoot,
  getAsset,
  getOpenApi,
  getDocs,
  getDocsPage,
  getLlmsText,
  getSkill,
];
