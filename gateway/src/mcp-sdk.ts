/**
 * The used parts of the protocol's official library. A host loads this file: at the first message where modules load
 * one by one, and with the rest where a program is one file.
 */
export {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
