"""Chains of LangChain, graphs of LangGraph, agents of AutoGen, with stand-in models."""

import sys
from pathlib import Path

import polars as pl
import pytest

from dialens.agents import AgentError, Message, make_agent, parse_agent, streamed
from dialens.agents.talks import CollectionPlan, collect
from dialens.base import DialensError
from dialens.corpus import Corpus
from dialens.testing import check_agent

QUESTION = [Message("partner", "Do you like rain?")]
TALK = [*QUESTION, Message("agent", "I do."), Message("partner", "And snow?")]

CHAINS = '''
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda


class Echo(BaseChatModel):
    """Says what it was given: roles and words, so that nothing is lost unseen."""

    @property
    def _llm_type(self):
        return "echo"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        said = "; ".join(f"{one.type} {one.content[:30]}" for one in messages)
        message = AIMessage(
            said,
            usage_metadata={"input_tokens": 5, "output_tokens": 2, "total_tokens": 7},
            response_metadata={"finish_reason": "length", "model_name": "echo-1"},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


model = Echo()
words = GenericFakeChatModel(messages=iter([AIMessage("one two three")] * 99))
prompt = ChatPromptTemplate.from_messages(
    [("system", "Be {mood}."), MessagesPlaceholder("history"), ("human", "{input}")]
)
chain = prompt | model
text_chain = ChatPromptTemplate.from_template("Answer: {question}") | model | StrOutputParser()
unclear = ChatPromptTemplate.from_template("{this} and {that}") | model
named = RunnableLambda(lambda messages: {"output": "Found.", "steps": 3})
number = RunnableLambda(lambda messages: 7)


def upper(text: str) -> str:
    return text.upper()


loud = RunnableLambda(upper)
plain = 7
'''

GRAPHS = '''
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


async def model(state: MessagesState):
    last = state["messages"][-1]
    if last.type == "tool":
        return {"messages": [AIMessage(f"It is {last.content}, {len(state['messages'])}.")]}
    call = {"name": "weather", "args": {"city": "Bern"}, "id": "call_1"}
    return {"messages": [AIMessage("", tool_calls=[call])]}


def count(state: MessagesState):
    return {"messages": [AIMessage(f"{len(state['messages'])} so far.")]}


builder = StateGraph(MessagesState)
builder.add_node("model", model)
builder.add_node("tools", ToolNode([weather]))
builder.add_edge(START, "model")
builder.add_conditional_edges("model", tools_condition)
builder.add_edge("tools", "model")
graph = builder.compile()

simple = StateGraph(MessagesState)
simple.add_node("count", count)
simple.add_edge(START, "count")
simple.add_edge("count", END)
remembering = simple.compile(checkpointer=InMemorySaver())
'''

AUTOGEN = '''
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelInfo, RequestUsage
from autogen_core.models import ChatCompletionClient


class Echo(ChatCompletionClient):
    """Says what it was given, or calls its tool first."""

    component_type = "model"

    @property
    def model_info(self):
        return ModelInfo(
            vision=False, function_calling=True, json_output=False, family="unknown",
            structured_output=False,
        )

    @property
    def capabilities(self):
        return self.model_info

    async def create(self, messages, *, tools=(), tool_choice="auto", json_output=None,
                     extra_create_args=None, cancellation_token=None):
        usage = RequestUsage(prompt_tokens=5, completion_tokens=2)
        last = messages[-1]
        if tools and last.type == "UserMessage":
            call = [FunctionCall(id="call_1", name="weather", arguments='{"city": "Bern"}')]
            return CreateResult(
                finish_reason="function_calls", content=call, usage=usage, cached=False,
                thought="I should look.",
            )
        said = "; ".join(f"{one.type} {str(one.content)[:30]}" for one in messages)
        return CreateResult(finish_reason="stop", content=said, usage=usage, cached=False)

    async def create_stream(self, messages, **options):
        yield await self.create(messages, **options)

    async def close(self):
        pass

    def actual_usage(self):
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    total_usage = actual_usage

    def count_tokens(self, messages, *, tools=()):
        return 0

    def remaining_tokens(self, messages, *, tools=()):
        return 9999


def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


def make():
    return AssistantAgent("bot", Echo(), system_message=None)


agent = make()
with_tool = AssistantAgent(
    "bot", Echo(), tools=[weather], system_message=None, reflect_on_tool_use=True
)
team = RoundRobinGroupChat(
    [AssistantAgent(name, Echo(), system_message=None) for name in ("ann", "bob")],
    termination_condition=MaxMessageTermination(3),
)
plain = 7
'''


@pytest.fixture
def chains(tmp_path: Path) -> Path:
    pytest.importorskip("langchain_core")
    (tmp_path / "chains.py").write_text(CHAINS)
    return tmp_path / "chains.py"


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    pytest.importorskip("langgraph")
    (tmp_path / "graphs.py").write_text(GRAPHS)
    return tmp_path / "graphs.py"


@pytest.fixture
def autogen(tmp_path: Path) -> Path:
    pytest.importorskip("autogen_agentchat")
    (tmp_path / "bots.py").write_text(AUTOGEN)
    return tmp_path / "bots.py"


def test_a_chat_model_gets_the_conversation(chains: Path) -> None:
    check_agent(lambda: make_agent(f"langchain:{chains}:model"))
    reply = make_agent(f"langchain:{chains}:model").reply(TALK)
    assert reply.text == "human Do you like rain?; ai I do.; human And snow?"
    assert (reply.tokens_in, reply.tokens_out) == (5, 2)
    assert (reply.finish, reply.model) == ("length", "echo-1")


def test_pieces_of_a_chat_model_are_passed_on(chains: Path) -> None:
    pieces = list(streamed(make_agent(f"langchain:{chains}:words"), QUESTION))
    assert pieces == ["one", " two", " three"]


def test_a_chain_gets_what_its_prompt_names(chains: Path) -> None:
    agent = make_agent(parse_agent(f"langchain:{chains}:chain", {"mood": "calm"}))
    wanted = "system Be calm.; human Do you like rain?; ai I do.; human And snow?"
    assert agent.reply(TALK).text == wanted
    text = make_agent(f"langchain:{chains}:text_chain").reply(TALK).text
    assert text == "human Answer: And snow?"
    assert make_agent(f"langchain:{chains}:loud").reply(TALK).text == "AND SNOW?"
    assert make_agent(f"langchain:{chains}:named").reply(TALK).text == "Found."


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("chain", "it wants mood"),
        ("unclear", "it wants that and this"),
        ("plain", "no Runnable but int"),
    ],
)
def test_what_a_chain_lacks_is_said(chains: Path, name: str, said: str) -> None:
    with pytest.raises(DialensError, match=said):
        make_agent(f"langchain:{chains}:{name}")


def test_an_answer_that_is_none_is_named(chains: Path) -> None:
    with pytest.raises(AgentError, match="The Runnable gave int") as caught:
        make_agent(f"langchain:{chains}:number").reply(QUESTION)
    assert caught.value.kind == "malformed"


def test_a_graph_calls_tools_that_are_recorded(graphs: Path, tmp_path: Path) -> None:
    agent = make_agent(f"langchain:{graphs}:graph")
    check_agent(lambda: agent)
    agent = make_agent(f"langchain:{graphs}:graph")
    reply = agent.reply(QUESTION)
    assert reply.text == "It is sunny in Bern, 3."
    call, result = reply.before
    assert call["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"city": "Bern"}'}
    assert (result["role"], result["content"]) == ("tool", "sunny in Bern")
    plan = CollectionPlan((parse_agent(f"langchain:{graphs}:graph"),), turns=4, dialogues=1)
    collect(plan, tmp_path / "talks")
    turns = Corpus.open(tmp_path / "talks").turns.filter(pl.col("role") == "agent").collect()
    assert turns["meta"].str.contains('"tool_calls"', literal=True).all()


def test_a_graph_that_remembers_is_not_told_twice(graphs: Path) -> None:
    agent = make_agent(f"langchain:{graphs}:remembering")
    assert agent.reply(QUESTION).text == "1 so far."
    assert agent.reply(TALK).text == "3 so far."
    assert agent.reply(QUESTION).text == "1 so far."


def test_a_graph_that_was_not_compiled(graphs: Path) -> None:
    with pytest.raises(DialensError, match=r"call \.compile\(\)"):
        make_agent(f"langchain:{graphs}:builder")


@pytest.mark.parametrize("name", ["agent", "make"])
def test_an_agent_of_autogen_remembers_nothing_else(autogen: Path, name: str) -> None:
    check_agent(lambda: make_agent(f"autogen:{autogen}:{name}"))
    agent = make_agent(f"autogen:{autogen}:{name}")
    agent.reply([Message("partner", "Something else.")])
    reply = agent.reply(TALK)
    wanted = "UserMessage Do you like rain?; AssistantMessage I do.; UserMessage And snow?"
    assert reply.text == wanted
    assert (reply.tokens_in, reply.tokens_out) == (5, 2)


def test_tools_and_thoughts_of_autogen_are_recorded(autogen: Path) -> None:
    reply = make_agent(f"autogen:{autogen}:with_tool").reply(QUESTION)
    call, result = reply.before
    assert call["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"city": "Bern"}'}
    assert (result["role"], result["content"]) == ("tool", "sunny in Bern")
    assert reply.thought == "I should look."
    assert (reply.tokens_in, reply.tokens_out) == (10, 4)


def test_a_team_answers_with_its_last_word(autogen: Path) -> None:
    agent = make_agent(f"autogen:{autogen}:team")
    reply = agent.reply(QUESTION)
    first = "UserMessage Do you like rain?"  # what ann says, and bob hears beside the question
    assert reply.text == f"{first}; UserMessage {first}"
    assert agent.reply(QUESTION).text == reply.text


def test_what_is_no_agent_of_autogen(autogen: Path) -> None:
    with pytest.raises(DialensError, match="no agent or team of AutoGen but int"):
        make_agent(f"autogen:{autogen}:plain")


@pytest.mark.parametrize(
    ("kind", "package"), [("langchain", "langchain_core"), ("autogen", "autogen_agentchat")]
)
def test_a_missing_framework_is_named(
    kind: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DialensError, match=rf"pip install 'dialens\[{kind}\]'"):
        make_agent(f"{kind}:bots.py:bot")
