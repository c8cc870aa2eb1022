import * as z from "zod";
import { signedMessage } from "../http/signed-message.ts";

/** The body that creates or changes a key: the wallet's message with the key's terms. */
export const keyMessage = { name: "KeyCreation", schema: z.strictObject(signedMessage) };
