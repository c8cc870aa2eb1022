# From a stablecoin and a private key to a key with a balance, in Python.
# pip install eth-account
#
# No coin for gas is needed. The state is in a file before anything is sent,
# so the program can be run again after any interruption: it pays once, and
# prints the same key.
#
# PRIVATE_KEY=0x... python top-up-with-key.py

import json
import os
import time
import urllib.error
import urllib.request

from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data

GATEWAY = "https://gateway.example"
AMOUNT = "5.00"
MOST_FEE = 500_000  # in millionths of a dollar
STATE = "top-up.json"

account = Account.from_key(os.environ["PRIVATE_KEY"])


def call(path, body=None, key=None):
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Authorization"] = "Bearer " + key
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(GATEWAY + path, data, headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise SystemExit(json.load(error)["error"]["message"])


def keep(state):
    with open(STATE + ".new", "w", opener=private) as file:
        json.dump(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(STATE + ".new", STATE)


def private(path, flags):
    return os.open(path, flags, 0o600)


def signed_typed(data):
    signable = encode_typed_data(full_message=with_domain(data))
    return "0x" + account.sign_message(signable).signature.hex().removeprefix("0x")


def with_domain(data):
    """The library wants the domain's type too, and numbers as numbers."""
    kinds = {"name": "string", "version": "string", "chainId": "uint256", "verifyingContract": "address"}
    domain = [{"name": name, "type": kind} for name, kind in kinds.items()]
    fields = {each["name"]: each["type"] for each in data["types"][data["primaryType"]]}
    message = {
        name: int(value) if fields[name] == "uint256" else value
        for name, value in data["message"].items()
    }
    return {**data, "types": {**data["types"], "EIP712Domain": domain}, "message": message}


def signed_top_up():
    """Signs for the amount and at most MOST_FEE. Compare `to` or `spender` with an address that you trust."""
    path = f"/api/v1/top-up/message?owner={account.address}&amount={AMOUNT}"
    data = call(path)["data"]
    if int(data["top_up"]["fee"]) > MOST_FEE:
        raise SystemExit(f"The relay takes {data['top_up']['fee']} millionths of a dollar.")
    signatures = [signed_typed(each) for each in data["sign"]]
    body = {"chain_id": data["chain_id"], "top_up": data["top_up"], "signature": signatures[0]}
    if data["permit_deadline"] is not None:
        body["permit"] = {"deadline": data["permit_deadline"], "signature": signatures[1]}
    return {"id": data["id"], "body": body, "key": None}


def new_key():
    message = call(f"/api/v1/keys/message?address={account.address}&name=program")["data"]["message"]
    signature = account.sign_message(encode_defunct(text=message)).signature.hex().removeprefix("0x")
    return call("/api/v1/keys", {"message": message, "signature": "0x" + signature})["key"]


if os.path.exists(STATE):
    with open(STATE) as file:
        state = json.load(file)
else:
    state = signed_top_up()
    keep(state)
if state["key"] is None:
    state["key"] = new_key()
    keep(state)

top_up = call("/api/v1/top-up", state["body"])["data"]
while top_up["state"] not in ("credited", "failed", "expired"):
    time.sleep(1)
    top_up = call("/api/v1/top-up/" + state["id"])["data"]
if top_up["state"] != "credited":
    raise SystemExit(top_up["reason"] or "The top-up's time has passed. Remove " + STATE)
print("API key:", state["key"])
