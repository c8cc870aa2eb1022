import { getActivations } from "./activations-address.ts";
import { getActivity } from "./activity.ts";
import { deleteOffer, getOffer, putOffer } from "./agents-offer.ts";
import { createSpeech, createTranscription } from "./audio.ts";
import { getNonce, signIn, signOut } from "./auth.ts";
import { createChatCompletion } from "./chat-completions.ts";
import { getContracts } from "./contracts.ts";
import { getCredits } from "./credits.ts";
import { getAsset, getRoot } from "./dashboard-page.ts";
import { getDocs, getDocsPage, getLlmsText, getOpenApi, getSkill } from "./documents.ts";
import { createEmbeddings } from "./embeddings.ts";
import type { Endpoint } from "./endpoint.ts";
import { getGeneration } from "./generation.ts";
import { getHealth } from "./healthz.ts";
import { createImage, createImageEdit, editImage, generateImage, upscaleImage } from "./images.ts";
import { getOwnKey } from "./key.ts";
import { changeKey, createKey, listKeys, revokeKey, rollKey, setKeyTerms } from "./keys.ts";
import { getKeyMessage } from "./keys-message.ts";
import { postMcp } from "./mcp.ts";
import { countTokens, createMessage } from "./messages.ts";
import { getMetrics } from "./metrics.ts";
import { getModel, listModels } from "./models.ts";
import { getPrices } from "./prices.ts";
import { getImageStyles, getModelCompatibility, getModelTraits } from "./provider-lists.ts";
import { quoteChat } from "./quote.ts";
import { getReconciliation, listReconciliations } from "./reconciliations.ts";
import { createResponse } from "./responses.ts";
import { getStatements, listStatementUses } from "./statements.ts";
import { getStatus } from "./status.ts";
import { createTopUp, getTopUp, getTopUpMessage, getTopUpQuotes } from "./top-up.ts";
import { createWebhook, deleteWebhook, listDeliveries, listWebhooks, testWebhook } from "./webhooks.ts";

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
